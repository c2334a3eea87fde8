"""From the model to the tables of the native core."""
