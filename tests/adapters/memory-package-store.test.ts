import { createMemoryPackageStore, testPackageStore } from '../support/package-stores.ts';

testPackageStore('memory', createMemoryPackageStore);
