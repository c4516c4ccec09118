// The project's own rules for oxlint, which loads this file. `.oxlintrc.json` says where each of them holds.

const NO_CLOCK = 'core has no clock: take the instant as an argument.';
const CAMEL_CASE = /^_*(?:[a-z][a-zA-Z0-9]*)?$/;
const PASCAL_CASE = /^[A-Z][a-zA-Z0-9]*$/;
const UPPER_CASE = /^[A-Z][A-Z0-9_]*$/;

/** Node types of numbers, texts and patterns. */
const CONSTANTS = new Set(['Literal', 'TemplateLiteral', 'UnaryExpression', 'BinaryExpression']);

const rule = (create) => ({ create });
const reportAt = (context, message) => (node) => context.report({ node, message });

/** Returns the identifiers that a pattern names itself; in `{ name }` the name is the property's. */
function boundNames(pattern) {
  if (pattern === null) return [];
  if (pattern.type === 'Identifier') return [pattern];
  if (pattern.type === 'AssignmentPattern') return boundNames(pattern.left);
  return pattern.type === 'RestElement' ? boundNames(pattern.argument) : [];
}

const isTopLevel = ({ parent }) =>
  parent.type === 'Program' || (parent.type === 'ExportNamedDeclaration' && parent.parent.type === 'Program');

const namedExports = rule((context) => ({ ExportDefaultDeclaration: reportAt(context, 'Named exports only.') }));

/** Functions, variables, parameters and methods are camelCase, types PascalCase, and constants may be UPPER_CASE. */
const names = rule((context) => {
  const expect = (id, ...forms) => {
    if (id?.type === 'Identifier' && !forms.some((form) => form.test(id.name)))
      context.report({ node: id, message: `The name ${id.name} has another form than its kind.` });
  };
  const parameters = ({ params }) => {
    for (const parameter of params) for (const id of boundNames(parameter)) expect(id, CAMEL_CASE);
  };
  const type = ({ id, name }) => expect(id ?? name, PASCAL_CASE);
  const member = ({ key, computed }) => {
    if (!computed) expect(key, CAMEL_CASE);
  };
  return {
    FunctionDeclaration(node) {
      expect(node.id, CAMEL_CASE);
      parameters(node);
    },
    FunctionExpression: parameters,
    ArrowFunctionExpression: parameters,
    VariableDeclaration(node) {
      for (const { id, init } of node.declarations)
        for (const bound of boundNames(id)) {
          if (node.kind !== 'const' || !isTopLevel(node)) expect(bound, CAMEL_CASE);
          else if (init !== null && CONSTANTS.has(init.type) && !UPPER_CASE.test(bound.name))
            context.report({ node: bound, message: 'A constant number, text or pattern is in UPPER_CASE.' });
          else expect(bound, CAMEL_CASE, UPPER_CASE);
        }
    },
    TSTypeAliasDeclaration: type,
    TSInterfaceDeclaration: type,
    TSTypeParameter: type,
    ClassDeclaration: type,
    MethodDefinition: member,
    PropertyDefinition: member,
    TSMethodSignature: member,
  };
});

/** Pure code has no clock, no randomness and nothing asynchronous. */
const pure = rule((context) => {
  const asynchronous = (node) => {
    if (node.async) context.report({ node, message: 'core is synchronous.' });
  };
  return {
    NewExpression(node) {
      if (node.callee.name === 'Date' && node.arguments.length === 0) context.report({ node, message: NO_CLOCK });
    },
    MemberExpression(node) {
      if (node.object.name === 'Date' && node.property.name === 'now') context.report({ node, message: NO_CLOCK });
      if (node.object.name === 'Math' && node.property.name === 'random')
        context.report({ node, message: 'core has no randomness.' });
    },
    FunctionDeclaration: asynchronous,
    FunctionExpression: asynchronous,
    ArrowFunctionExpression: asynchronous,
    AwaitExpression: reportAt(context, 'core is synchronous.'),
  };
});

export default { meta: { name: 'house' }, rules: { 'named-exports': namedExports, names, pure } };
