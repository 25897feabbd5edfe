import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config/config.ts';
import { settingsFaults } from '../support/rejects.ts';

const origins = suite('origins of other sites');

const read = (list: string) => readConfig({ CORS_ORIGINS: list }).corsOrigins;

const faultsOf = (list: string): string[] => settingsFaults({ CORS_ORIGINS: list });

origins('are empty by default', () => {
  assert.equal(readConfig({}).corsOrigins, []);
  assert.equal(read(''), []);
});

origins('are normalized to the format of browsers', () => {
  assert.equal(read('https://App.Example.com, http://localhost:5173,https://x.test:443/'), [
    'https://app.example.com',
    'http://localhost:5173',
    'https://x.test',
  ]);
  assert.equal(read('*'), ['*']);
});

origins('are refused if no browser sends them', () => {
  for (const list of [
    'app.example.com',
    'https://x.test/path',
    'https://x.test/?q',
    'https://x.test#f',
    'https://me:secret@x.test',
    'ftp://x.test',
    'null',
    'https://*.x.test',
    'https://x.test;sandbox',
    "https://x.test'",
    'https://x.test,',
    '**',
  ]) {
    assert.equal(
      faultsOf(list),
      ['CORS_ORIGINS: must be origins such as https://app.example.com, or *'],
      list,
    );
  }
});

origins.run();
