import { JsonInput, type JsonInputProps } from '@mantine/core';
import { OBJECT_FAULT } from './json-object.ts';

/** The text of a JSON object. Which texts are accepted is `objectFault`. */
export const ObjectInput = (props: JsonInputProps) => (
  <JsonInput autosize minRows={2} maxRows={12} validationError={OBJECT_FAULT} {...props} />
);
