import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import { testPackageStore } from '../support/package-stores.ts';
import { setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';

setCredentials();

const server = await startS3Server();
testPackageStore('S3', () => storeOn(server, `stores/${randomUUID()}`));

const closing = suite('the S3 server');
closing('is closed', () => server[Symbol.asyncDispose]());
closing.run();
