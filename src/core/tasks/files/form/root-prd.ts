import { tryJson } from '../../../text/try-json.ts';
import { prdLists } from './prd-lists.ts';

/** A prd at the root is one by what is in it: elsewhere this name stands for production. */
export const ROOT_PRD = 'prd.json';

/** Whether the JSON is a list of tasks; false as well for what is no JSON. */
export function holdsPrd(text: string): boolean {
  const json = tryJson(text.replace(/^\uFEFF/, ''));
  if (typeof json !== 'object' || json === null) return false;
  return prdLists.some((list) => Array.isArray((json as Readonly<Record<string, unknown>>)[list]));
}

/** The files without a JSON at the root that is not a list of tasks. One that is no JSON at all may be a list that broke, which people must hear of. */
export function withoutOtherJson(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const text = files[ROOT_PRD];
  if (text === undefined || holdsPrd(text) || tryJson(text.replace(/^\uFEFF/, '')) === undefined) return files;
  return Object.fromEntries(Object.entries(files).filter(([path]) => path !== ROOT_PRD));
}
