import { expect, test } from 'vitest';
import { findNearestCommand, parseCommand, type RalphCommand } from '../../../../src/core/people/command.ts';

test.each<[string, RalphCommand]>([
  ['run', { kind: 'run' }],
  ['status', { kind: 'status' }],
  ['pause', { kind: 'order', order: 'pause' }],
  ['resume', { kind: 'order', order: 'resume' }],
  ['stop', { kind: 'order', order: 'stop' }],
  ['reset circuit', { kind: 'order', order: 'reset-circuit' }],
  ['reset session', { kind: 'order', order: 'reset-session' }],
  ['doctor', { kind: 'doctor' }],
  ['help', { kind: 'help' }],
  ['  Reset \t Circuit\n', { kind: 'order', order: 'reset-circuit' }],
  ['retry', { kind: 'retry', task: null }],
  ['retry 12', { kind: 'retry', task: 'issue-12' }],
  [' RETRY  #12 ', { kind: 'retry', task: 'issue-12' }],
  ['retry 12 13', { kind: 'unknown', word: 'retry 12 13' }],
  ['please retry 12', { kind: 'unknown', word: 'please retry 12' }],
  ['retry12', { kind: 'unknown', word: 'retry12' }],
  ['', { kind: 'unknown', word: '' }],
  ['toString', { kind: 'unknown', word: 'toString' }],
  [` ${'x'.repeat(50)}`, { kind: 'unknown', word: 'x'.repeat(40) }],
])('%j is %j', (text, command) => {
  expect(parseCommand(text)).toEqual(command);
});

test.each([
  ['rum', 'run'],
  ['resset circuit', 'reset circuit'],
  ['rety 12', 'retry'],
  ['run   please', 'run'],
  ['deploy', null],
  ['', null],
])('%j was most likely meant to be %j', (word, meant) => {
  expect(findNearestCommand(word)).toBe(meant);
});
