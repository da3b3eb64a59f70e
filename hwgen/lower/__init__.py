"""The way from schedules to hardware: generation parameters, run-time registers and programs."""
