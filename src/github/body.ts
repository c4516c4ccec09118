import { cut } from '../core/text/cut.ts';

/** GitHub refuses a longer body of an issue, a pull request or a comment (422 "body is too long"). */
const MAX_BODY_CHARS = 65_536;

/** The last defence against a body that GitHub would refuse; what matters is kept short by who writes it. */
export function fitBody(body: string): string {
  if (body.length <= MAX_BODY_CHARS) return body;
  const ending = '\n\n(Cut here: GitHub accepts no more.)';
  // A pair of surrogates must not be cut in two.
  return `${cut(body, MAX_BODY_CHARS - ending.length)}${ending}`;
}
