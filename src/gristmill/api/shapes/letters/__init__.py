"""Dead letters and the quarantine as the API shows and takes them."""
