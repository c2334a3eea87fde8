"""The descriptions' language: from text to the model of an accelerator."""
