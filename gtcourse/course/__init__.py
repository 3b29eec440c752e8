"""Parts that only the course needs: exercises, figures, generated tasks, comparisons, costs."""
