import { createMemoryPackageStore } from '../../src/adapters/memory-package-store.ts';
import { testPackageStore } from '../support/package-store-rules.ts';

testPackageStore('memory', createMemoryPackageStore);
