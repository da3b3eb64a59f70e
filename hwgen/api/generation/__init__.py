"""Hardware and programs as files: what is generated of schedules, of networks, of depth-first solutions."""
