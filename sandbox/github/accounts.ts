/** In the form of REST: a bot's login ends in `[bot]`. A login that ends in `-deleted` stands for an account that does not exist any more. */
export interface Person {
  readonly login: string;
  readonly type: 'User' | 'Bot';
}

export interface Account {
  readonly id: number;
  readonly type: 'User' | 'Bot' | 'Organization' | 'Mannequin';
}

/** Accounts whose id or kind matters, by login; of others the login says both. */
export interface KnownAccounts {
  readonly accounts: Map<string, Account>;
}

export function personOf(state: KnownAccounts, login: string): Person {
  return { login, type: accountOf(state, login).type === 'Bot' ? 'Bot' : 'User' };
}

/** An id that stays the same for a login, unless the state knows better. */
export function accountOf(state: KnownAccounts, login: string): Account {
  return state.accounts.get(login) ?? { id: checksum(login), type: login.endsWith('[bot]') ? 'Bot' : 'User' };
}

/** A number that stays the same for a name. */
export function checksum(name: string): number {
  return [...name].reduce((sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
