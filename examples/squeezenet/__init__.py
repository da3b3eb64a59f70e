"""SqueezeNet at 224 x 224, all layers."""
