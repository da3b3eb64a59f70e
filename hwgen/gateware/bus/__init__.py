"""The protocols at the ports: APB, AXI4, and the TCDM handshake."""
