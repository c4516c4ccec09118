import { data, Evaluator, Lexer, Parser } from '@actions/expressions';

/** What expressions can name: plain data by the name of the context. */
export type Contexts = Readonly<Record<string, unknown>>;

/** How the job stands, for `success()`, `failure()` and their like. */
export type JobStatus = 'success' | 'failure';

/** Functions of texts that the machine answers, as `hashFiles`. */
export type TextFunctions = Readonly<Record<string, (...texts: readonly string[]) => string>>;

/** As far as the next `}}` that is not in a string. */
const EXPRESSION = /\$\{\{((?:'(?:[^']|'')*'|[^'])*?)\}\}/g;

/** The text with its expressions evaluated; throws for one that cannot be read, or names what there is not. */
export function interpolate(text: string, contexts: Contexts): string {
  if (text.replace(EXPRESSION, '').includes('${{')) throw new Error(`An expression is not closed: ${text}`);
  return text.replace(EXPRESSION, (_, expression: string) =>
    evaluate(expression, contexts, { status: 'success', functions: {} }).coerceString(),
  );
}

/** Whether an `if:` lets a job or step start, by the rules of the runner. */
export function holds(
  condition: string,
  contexts: Contexts,
  { status, functions = {} }: { readonly status: JobStatus; readonly functions?: TextFunctions },
): boolean {
  const expression = conditionOf(condition.trim(), contexts);
  const asksForStatus = /\b(?:success|failure|cancelled|always)\s*\(/.test(expression.replace(/'(?:[^']|'')*'/g, ''));
  const isFalsy = evaluate(`!(${expression})`, contexts, { status, functions });
  return isFalsy.coerceString() === 'false' && (asksForStatus || status === 'success');
}

/** One expression, with or without its marks. More than that is a text, which holds unless it is empty. */
function conditionOf(condition: string, contexts: Contexts): string {
  if (condition === '') return 'true';
  const [first, ...more] = [...condition.matchAll(EXPRESSION)];
  if (first === undefined) return condition;
  if (more.length === 0 && first[0] === condition) return first[1] ?? '';
  return interpolate(condition, contexts) === '' ? 'false' : 'true';
}

function evaluate(
  expression: string,
  contexts: Contexts,
  known: { readonly status: JobStatus; readonly functions: TextFunctions },
): data.ExpressionData {
  const functions = [...statusFunctions(known.status), ...textFunctions(known.functions)];
  const names = Object.keys(contexts);
  const parsed = new Parser(new Lexer(expression).lex().tokens, names, functions).parse();
  const values = JSON.parse(JSON.stringify(contexts), data.reviver) as data.Dictionary;
  return new Evaluator(parsed, values, new Map(functions.map((one) => [one.name.toLowerCase(), one]))).evaluate();
}

interface KnownFunction {
  readonly name: string;
  readonly minArgs: number;
  readonly maxArgs: number;
  readonly call: (...values: data.ExpressionData[]) => data.ExpressionData;
}

function* textFunctions(functions: TextFunctions): Iterable<KnownFunction> {
  for (const [name, answer] of Object.entries(functions))
    yield {
      name,
      minArgs: 1,
      maxArgs: 255,
      call: (...values) => new data.StringData(answer(...values.map((value) => value.coerceString()))),
    };
}

function* statusFunctions(status: JobStatus): Iterable<KnownFunction> {
  const answers = { success: status === 'success', failure: status === 'failure', cancelled: false, always: true };
  for (const [name, answer] of Object.entries(answers))
    yield { name, minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(answer) };
}
