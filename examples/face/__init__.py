"""BlazeFace: from a TFLite file to a box around a face."""
