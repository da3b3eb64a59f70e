"""From schedules to hardware: generation parameters, run-time registers and programs."""
