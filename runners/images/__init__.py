"""Images: files of any format as pixels, and pixels as what a model is fed."""
