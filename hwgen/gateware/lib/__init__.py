"""Building blocks that know no device: loop nests, stride arithmetic, requantisation, queues, memories."""
