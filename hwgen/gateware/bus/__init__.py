"""The protocols at the ports: APB, AXI4, AXI4-Lite, and the TCDM handshake."""
