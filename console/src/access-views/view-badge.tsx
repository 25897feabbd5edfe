import { capitalized } from '../components/detail-words.ts';
import { StatusText } from '../components/status-text.tsx';
import { type AccessView, stateOf } from './view-state.ts';

export const ViewState = ({ view }: { view: AccessView }) => {
  const state = stateOf(view);
  return <StatusText label={capitalized(state)} color={state === 'active' ? 'green' : 'gray'} />;
};
