"""The vector unit: feature maps from feature maps, element by element."""
