// Types of the OpenAPI document on standard input, on standard output. Plain JavaScript, for the compiler that checks
// the project is not the one that this generator needs.
import { text } from 'node:stream/consumers';
import openapiTS, { astToString } from 'openapi-typescript';

process.stdout.write(astToString(await openapiTS(await text(process.stdin))));
