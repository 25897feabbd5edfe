import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { runInProcess } from '../support/commands.ts';
import { EXPECTED, linesOf, program } from '../support/completion.ts';
import { makeScratchFolder } from '../support/files.ts';
import { suite } from '../support/suite.ts';

const run = promisify(execFile);

const completion = suite<{ folder: Awaited<ReturnType<typeof makeScratchFolder>> }>(
  'steward completion in other shells',
);

completion.before(async (context) => {
  context.folder = await makeScratchFolder();
  for (const shell of ['zsh', 'fish']) {
    const { code, stdout, stderr } = await runInProcess(['completion', shell]);
    assert.equal([code, stderr], [0, '']);
    await writeFile(context.folder.join(shell), stdout);
  }
});
completion.after(({ folder }) => folder[Symbol.asyncDispose]());

completion('completes in fish what the help of each command shows', async ({ folder }) => {
  const script = `source ${folder.join('fish')}
for line in ${program.map(({ path }) => `'${path}'`).join(' ')}
  set -l names (complete -C "$line " | string split -f1 \\t) (complete -C "$line --" | string split -f1 \\t)
  echo "$line: $names"
end`;
  // Without files, which fish completes too.
  const cwd = folder.join('empty');
  await mkdir(cwd);

  const { stdout } = await run('fish', ['--no-config', '-c', script], { cwd });

  assert.equal(linesOf(stdout), EXPECTED);
});

completion('passes in zsh to _describe what the help of each command shows', async ({ folder }) => {
  const script = `compdef() { :; }
_describe() { print -r -- "$line: \${(@)\${(P)2}%%:*}"; }
source ${folder.join('zsh')}
while read -r line; do
  words=(\${=line} '')
  CURRENT=$#words
  _steward
done <<<'${program.map(({ path }) => path).join('\n')}'`;

  const { stdout } = await run('zsh', ['-f', '-c', script]);

  assert.equal(linesOf(stdout), EXPECTED);
});

completion.run();
