"""The depth-first pipeline: line-buffer stages joined by streams of pixels."""
