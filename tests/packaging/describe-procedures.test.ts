import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withDescriptions } from '../../packaging/describe-procedures.ts';

const descriptions = suite('declarations of the client');

const declarationOf = (noun: string, verb: string): string =>
  [
    '    procedures: {',
    `        ${noun}: {`,
    `            ${verb}: {`,
    '                type: "query";',
  ].join('\n');

const commentOf = (noun: string, verb: string): string =>
  withDescriptions(declarationOf(noun, verb))
    .split('\n')
    .filter((line) => /^ +\*(?!\/)/.test(line))
    .map((line) => line.replace(/^ +\* ?/, ''))
    .join('\n');

descriptions('describe a procedure as the OpenAPI document does, with its role', () => {
  assert.is(commentOf('sites', 'create'), 'Create a site.\n\nRequires the role superuser.');
  assert.match(commentOf('sites', 'list'), /For all users\.$/);
  assert.match(commentOf('sessions', 'methods'), /Requires no login\.$/);
});

descriptions('say which procedures are for the console', () => {
  assert.match(commentOf('users', 'people'), 'For a screen of the console');
});

descriptions('leave other members alone', () => {
  const other = declarationOf('data', 'problem');

  assert.is(withDescriptions(other), other);
});

descriptions.run();
