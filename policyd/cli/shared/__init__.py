"""What several commands share: options, inputs, output."""
