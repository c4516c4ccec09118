/** An outcome in plain English: `title` in a few words, `what` happened, what to do `next`. Code stands in `backticks`; values in it are foreign text. */
export interface OutcomeText {
  readonly title: string;
  readonly what: string;
  readonly next: string;
}
