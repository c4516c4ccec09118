/** Books, as they were put there. */
export const shelf = (...titles) => titles;
