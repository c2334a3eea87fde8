"""Language models as agents: this version's prompts beside an earlier one's, and a capable model's recorded answers."""
