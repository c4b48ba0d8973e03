"""What tasks teach: evidence that outlives their texts, the learner's state, and the increments that follow from both."""
