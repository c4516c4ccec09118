/** The two forms of a prd.json: `tasks` with a status, and `userStories` that pass. A file may have both. */
export const prdLists = ['tasks', 'userStories'] as const;
export type PrdList = (typeof prdLists)[number];
