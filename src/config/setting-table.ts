import { INPUT_ROWS, JOB_ROWS } from './input-rows.ts';
import { SECRET_ROWS, SETTING_ROWS, type SettingGroup, type SettingRow } from './setting-rows.ts';

/** Names of the inputs of action.yml. One of them is `settings`, which takes all other settings by their names. */
export const ACTION_INPUTS: readonly string[] = rowsOf(INPUT_ROWS).map(([name]) => name);

/** Names of the inputs that only the action of one job has. */
export const JOB_INPUTS: readonly string[] = rowsOf(JOB_ROWS).map(([name]) => name);

export const SECRET_SETTINGS: readonly string[] = rowsOf([SECRET_ROWS]).map(([name]) => name);

/**
 * The defaults of all settings, by name: they are written nowhere else. A default that is an expression is empty here,
 * because only the runner can evaluate it.
 */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  rowsOf([...INPUT_ROWS, ...JOB_ROWS, ...SETTING_ROWS])
    .filter(([name]) => name !== 'settings')
    .map(([name, text]) => [name, text.startsWith('${{') ? '' : text]),
);

export const SETTING_NAMES: readonly string[] = Object.keys(DEFAULTS);

/** Returns the default of a setting; throws for a name that is not a setting. */
export function getDefault(name: string): string {
  const text = DEFAULTS[name];
  if (text === undefined) throw new Error(`${name} is not a setting`);
  return text;
}

function rowsOf(groups: readonly SettingGroup[]): readonly SettingRow[] {
  return groups.flatMap(({ rows }) => rows);
}
