import { createMemoryPackageStore } from '../../src/adapters/package-store/memory-package-store.ts';
import { testPackageStore } from '../support/package-store-rules.ts';

testPackageStore('memory', createMemoryPackageStore);
