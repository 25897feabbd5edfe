import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runInProcess } from '../support/commands.ts';
import { STACK } from '../support/service-process.ts';

const help = suite('steward --help');

for (const [command, described] of [
  ['', 'Commands:'],
  ['serve', 'Run the service'],
  ['demo', 'demo workspace'],
  ['doctor', '--json'],
  ['migrate', 'Apply pending migrations and exit'],
  ['create-admin', 'ADMIN_PASSWORD'],
  ['import-django', 'dumpdata'],
  ['apps', 'publish'],
  ['apps pack', 'app.yaml'],
  ['apps pack', 'node_modules'],
  ['apps publish', 'APP_STORE'],
] as const) {
  help(`describes \`steward ${command}\`, such as ${described}`, async () => {
    const { code, stdout, stderr } = await runInProcess([...command.split(' ').filter(Boolean), '--help']);

    assert.equal([code, stderr], [0, '']);
    assert.match(stdout, `Usage: steward${command && ` ${command}`}`);
    assert.match(stdout, described);
  });
}

for (const args of [
  ['explode'],
  ['apps', 'explode'],
  ['create-admin'],
  ['serve', '--loudly'],
  ['import-django', 'dump.json', '--map', 'extras=x'],
  ['import-django', 'dump.json', '--map', 'extra=a.b'],
]) {
  help(`is printed after refusing \`steward ${args.join(' ')}\``, async () => {
    const { code, stdout, stderr } = await runInProcess(args);

    assert.equal([code, stdout], [1, '']);
    assert.match(stderr, /^error: .+\n\nUsage: steward/s);
    assert.not.match(stderr, STACK);
  });
}

help.run();
