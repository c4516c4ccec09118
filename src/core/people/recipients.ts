/** Whom an input names. `auto`: who asked for the work. */
export type Recipients =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'named'; readonly logins: readonly string[]; readonly teams: readonly string[] };

/** More people are not named in one comment. */
const MAX_MENTIONS = 5;

/** A login as GitHub gives them to people; those of managed users have a `_`. */
export const LOGIN = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;

/** The people to turn to, each once and never a bot: those who are named, or `askers`, the likeliest first. */
export function peopleOf(recipients: Recipients, askers: readonly (string | null)[]): readonly string[] {
  if (recipients.kind === 'none') return [];
  const wanted = recipients.kind === 'named' ? recipients.logins : askers;
  const found = new Map<string, string>();
  for (const login of wanted)
    if (login !== null && LOGIN.test(login) && !found.has(login.toLowerCase())) found.set(login.toLowerCase(), login);
  return [...found.values()].slice(0, MAX_MENTIONS);
}
