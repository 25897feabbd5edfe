import { createMemoryPackageStore } from '../support/memory-package-store.ts';
import { testPackageStore } from '../support/package-store-rules.ts';

testPackageStore('memory', createMemoryPackageStore);
