import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { runInProcess } from '../support/commands.ts';
import { EXPECTED, linesOf, program } from '../support/completion.ts';
import { makeScratchFolder } from '../support/files.ts';

import { suite } from '../support/suite.ts';

const run = promisify(execFile);

const completion = suite<{ folder: Awaited<ReturnType<typeof makeScratchFolder>> }>('steward completion');

completion.before(async (context) => {
  context.folder = await makeScratchFolder();
  const { code, stdout, stderr } = await runInProcess(['completion', 'bash']);
  assert.equal([code, stderr], [0, '']);
  await writeFile(context.folder.join('bash'), stdout);
});
completion.after(({ folder }) => folder[Symbol.asyncDispose]());

completion('completes in bash what the help of each command shows', async ({ folder }) => {
  const script = `source ${folder.join('bash')}
complete -p steward >/dev/null || exit 1
while read -r line; do
  read -r -a COMP_WORDS <<<"$line"
  COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _steward
  echo "$line: \${COMPREPLY[*]}"
done <<<'${program.map(({ path }) => path).join('\n')}'`;

  const { stdout } = await run('bash', ['--norc', '-c', script]);

  assert.ok(program.length > 12);
  assert.equal(linesOf(stdout), EXPECTED);
});

completion('completes words in bash, after options and arguments', async ({ folder }) => {
  const complete = async (...words: string[]): Promise<string> => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const script = `source ${folder.join('bash')}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _steward; echo "\${COMPREPLY[*]}"`;
    return (await run('bash', ['--norc', '-c', script])).stdout.trim();
  };

  assert.is(await complete('steward', 'doc'), 'doctor');
  assert.is(await complete('steward', 'apps', 'pu'), 'publish');
  assert.is(await complete('steward', 'apps', 'list', 'sales', '--j'), '--json');
  assert.is(await complete('steward', 'completion', 'f'), 'fish');
  assert.is(await complete('steward', 'apps', 'pack', './nothing'), '');
});

completion('every command that lists has --json', () => {
  const lists = program.filter(({ path }) => /\b(list|doctor)$/.test(path));

  assert.ok(lists.length > 1);
  assert.equal(
    lists.filter(({ names }) => !names.includes('--json')),
    [],
  );
});

completion.run();
