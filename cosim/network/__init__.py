"""Programs of several layers on a simulated cluster, each layer counted for itself."""
