/**
 * An account as REST shows it: a bot's login ends in `[bot]`. A login that ends in `-deleted` marks an account that no
 * longer exists.
 */
export interface Person {
  readonly login: string;
  readonly type: 'User' | 'Bot';
}

export interface Account {
  readonly id: number;
  readonly type: 'User' | 'Bot' | 'Organization' | 'Mannequin';
}

/** Accounts with a fixed id or kind, by login; for any other account both are derived from the login. */
export interface KnownAccounts {
  readonly accounts: Map<string, Account>;
}

export function personOf(state: KnownAccounts, login: string): Person {
  return { login, type: accountOf(state, login).type === 'Bot' ? 'Bot' : 'User' };
}

/** Returns the account of a login; its id is derived from the login unless the state gives one. */
export function accountOf(state: KnownAccounts, login: string): Account {
  return (
    state.accounts.get(login) ?? { id: computeNameChecksum(login), type: login.endsWith('[bot]') ? 'Bot' : 'User' }
  );
}

/** Returns a number that is always the same for the same name. */
export function computeNameChecksum(name: string): number {
  return [...name].reduce((sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
