type Fields = Readonly<Record<string, unknown>>;

/** The fields that a message of the API may have, by name; each looks for what reaches out in its value, and tells it in words. */
type Form = Readonly<Record<string, (value: unknown) => string | null>>;

/** Google reads JSON as deep as this. */
const MAX_DEPTH = 100;

/** What in a request makes the provider's servers fetch, keep or run something, in words; null: nothing does. A field that is not known here is one of these. */
export function reachesOut(body: Fields, mayWebSearch: boolean): string | null {
  if (isTooDeep(body, 0)) return 'a request that nests too deep';
  return unknownIn(body, {
    contents: each('content', (content) => unknownIn(content, CONTENT)),
    systemInstruction: each('a system instruction', (content) => unknownIn(content, CONTENT)),
    tools: each('tools', (tool) => toolIn(tool, mayWebSearch)),
    toolConfig: nothing,
    generationConfig: nothing,
    safetySettings: nothing,
  });
}

const nothing = (): null => null;

/** A picture in the answer to a function's call. */
const RESPONSE_PART: Form = { inlineData: nothing };

/** What functions are called with and answer is theirs. */
const FUNCTION_RESPONSE: Form = {
  id: nothing,
  name: nothing,
  response: nothing,
  willContinue: nothing,
  scheduling: nothing,
  parts: each('a part', (part) => unknownIn(part, RESPONSE_PART)),
};

const PART: Form = {
  text: nothing,
  thought: nothing,
  thoughtSignature: nothing,
  inlineData: nothing,
  videoMetadata: nothing,
  mediaResolution: nothing,
  functionCall: nothing,
  functionResponse: each("a function's answer", (answer) => unknownIn(answer, FUNCTION_RESPONSE)),
};

const CONTENT: Form = { role: nothing, parts: each('a part', (part) => unknownIn(part, PART)) };

/** Where the API wants a list it takes one of its items as well. */
function each(what: string, find: (item: Fields) => string | null): (value: unknown) => string | null {
  return (value) => {
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      const found = isFields(item) ? find(item) : `${what} in an unknown form`;
      if (found !== null) return found;
    }
    return null;
  };
}

/** Functions are the CLI's own; everything else runs on the provider's servers. */
function toolIn(tool: Fields, mayWebSearch: boolean): string | null {
  const name = Object.keys(tool).find(
    (field) =>
      isGiven(tool[field]) &&
      !isNamed(field, 'functionDeclarations') &&
      !(mayWebSearch && isNamed(field, 'googleSearch')),
  );
  return name === undefined ? null : `the tool ${quoted(name)} of the provider's servers`;
}

function unknownIn(message: Fields, form: Form): string | null {
  for (const [name, value] of Object.entries(message)) {
    if (!isGiven(value)) continue;
    const find = Object.entries(form).find(([known]) => isNamed(name, known))?.[1];
    const found = find === undefined ? `${quoted(name)} in a request` : find(value);
    if (found !== null) return found;
  }
  return null;
}

/** The API knows a field by two names: `fileData` is `file_data`, too. */
function isNamed(name: string, field: string): boolean {
  return name === field || name === field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What is null is not there. */
function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function quoted(name: string): string {
  return JSON.stringify(name).slice(0, 60);
}
