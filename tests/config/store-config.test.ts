import { resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config/config.ts';
import { settingsFaults } from '../support/rejects.ts';

const store = suite('settings of the package store');

const read = (env: Record<string, string>) => readConfig(env).appStore;

const AWS = { kind: 's3', endpoint: undefined, region: 'us-east-1', pathStyle: false };

store('name a folder', () => {
  assert.equal(read({ DATA_DIR: '/data' }), { kind: 'folder', dir: '/data/packages' });
  assert.equal(read({ APP_STORE: 'file:/srv/apps' }), { kind: 'folder', dir: '/srv/apps' });
  assert.equal(read({ APP_STORE: 'file:apps' }), { kind: 'folder', dir: resolve('apps') });
});

store('name a bucket, and a prefix without slashes at its ends', () => {
  assert.equal(read({ APP_STORE: 's3://apps' }), { ...AWS, bucket: 'apps', prefix: '' });
  assert.equal(read({ APP_STORE: 's3://apps/' }), { ...AWS, bucket: 'apps', prefix: '' });
  assert.equal(read({ APP_STORE: 's3://my.apps-1/a' }), { ...AWS, bucket: 'my.apps-1', prefix: 'a' });
  assert.equal(read({ APP_STORE: 's3://apps/A/b_c.d/' }), { ...AWS, bucket: 'apps', prefix: 'A/b_c.d' });
});

store('put the bucket into the path by default for servers other than AWS', () => {
  const pathStyle = (env: Record<string, string>): unknown => {
    const found = read({ APP_STORE: 's3://apps', ...env });
    return found.kind === 's3' && found.pathStyle;
  };
  const APP_STORE_ENDPOINT = 'https://minio.test:9000';

  assert.is(pathStyle({ APP_STORE_ENDPOINT }), true);
  assert.is(pathStyle({ AWS_ENDPOINT_URL: 'http://minio.test' }), true);
  assert.is(pathStyle({ AWS_ENDPOINT_URL_S3: 'http://minio.test' }), true);
  assert.is(pathStyle({ APP_STORE_ENDPOINT, APP_STORE_PATH_STYLE: '0' }), false);
  assert.is(pathStyle({ APP_STORE_PATH_STYLE: '1' }), true);
});

store('take the region from the AWS client’s settings by default', () => {
  const region = (env: Record<string, string>): unknown => {
    const found = read({ APP_STORE: 's3://apps', ...env });
    return found.kind === 's3' && found.region;
  };

  assert.is(region({ AWS_DEFAULT_REGION: 'eu-west-3' }), 'eu-west-3');
  assert.is(region({ AWS_DEFAULT_REGION: 'eu-west-3', AWS_REGION: 'eu-west-1' }), 'eu-west-1');
  assert.is(region({ AWS_REGION: 'eu-west-1', APP_STORE_REGION: 'garage' }), 'garage');
});

for (const APP_STORE of [
  'nfs:/x',
  's3:apps',
  's3://',
  's3:///prefix',
  's3://ap',
  `s3://${'a'.repeat(64)}`,
  's3://Apps',
  's3://-apps',
  's3://apps-',
  's3://my_apps',
  's3://my..apps',
  's3://192.168.5.4',
  's3://192.168.5.4/apps',
  'file:',
  'file: ',
  's3://key:secret@apps/x',
  's3://apps//x',
  's3://apps/../x',
  's3://apps/x/..',
  's3://apps/./x',
  's3://apps/a b',
  's3://apps/%2e',
  's3://apps/x?y',
  's3://apps/x#y',
  's3://apps/x\n',
  `s3://apps/${'a'.repeat(512)}`,
]) {
  store(`refuse ${JSON.stringify(APP_STORE.slice(0, 40))} in one line that does not repeat it`, () => {
    const faults = settingsFaults({ APP_STORE });

    assert.is(faults.length, 1);
    assert.match(faults[0] ?? '', /^APP_STORE: must be file:FOLDER, or s3:\/\/BUCKET\/PREFIX/);
    assert.not.match(faults[0] ?? '', 'secret');
  });
}

for (const [name, value] of [
  ['APP_STORE_ENDPOINT', 'minio.test:9000'],
  ['APP_STORE_ENDPOINT', 'secret'],
  ['APP_STORE_ENDPOINT', 'https://minio.test:99999/secret'],
  ['APP_STORE_ENDPOINT', 'ftp://key:secret@minio.test'],
  ['APP_STORE_ENDPOINT', 'ftp://minio.test'],
  ['APP_STORE_ENDPOINT', 'https://key:secret@minio.test'],
  ['APP_STORE_ENDPOINT', 'https://minio.test/?x=secret'],
  ['APP_STORE_ENDPOINT', 'https://minio.test/#secret'],
  ['APP_STORE_REGION', 'secret region'],
  ['APP_STORE_PATH_STYLE', 'secret'],
] as const) {
  store(`refuse ${name}=${value} in one line that does not repeat it`, () => {
    const faults = settingsFaults({ APP_STORE: 's3://apps', [name]: value });

    assert.is(faults.length, 1);
    assert.match(faults[0] ?? '', new RegExp(`^${name}: must`));
    assert.not.match(faults[0] ?? '', 'secret');
  });
}

store.run();
