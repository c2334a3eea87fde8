"""A target that is as unlike a simulated accelerator as can be."""
