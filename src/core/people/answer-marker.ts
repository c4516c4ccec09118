import { OWN_COMMENT_MARKER } from './command.ts';

/** First line of the one answer to what a pull request was asked; `asked`: the comment, review or commit that it answers. */
export function answerMarker(id: string, asked: string): string {
  return `${OWN_COMMENT_MARKER}answer ${word(id)} asked=${word(asked)} -->`;
}

/** Nothing in it ends the comment that it stands in. */
function word(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.]+/g, '-').slice(0, 80);
}
