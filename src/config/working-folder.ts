import { isExpression } from '../core/doctor/expression.ts';
import type { Folder } from '../core/folder.ts';
import { folder } from './fields.ts';

/** Where a run with these texts of inputs works. The root, too, where the text cannot be used, which is reported with the other inputs, or is an expression that only a run knows. */
export function workingFolderOf(texts: Readonly<Record<string, string | undefined>>): Folder {
  const text = (texts['working-directory'] ?? '').trim();
  const parsed = folder().safeParse(text);
  return parsed.success && !isExpression(text) ? parsed.data : '';
}
