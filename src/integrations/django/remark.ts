/** What an operator should know of one record, or of the file as a whole. */
export type Remark = {
  /** the record's place in the file, from 1; null: the file */
  position: number | null;
  pk: string;
  email: string;
  outcome: 'faulty' | 'exists' | 'imported' | 'dropped';
  field: string;
  message: string;
};

export const ofFile = (outcome: Remark['outcome'], field: string, message: string): Remark => ({
  ...{ position: null, pk: '', email: '' },
  ...{ outcome, field, message },
});
