import { StatusText } from '../components/status-text.tsx';
import { type AccessView, capitalized, stateOf } from './view-state.ts';

export const ViewState = ({ view }: { view: AccessView }) => {
  const state = stateOf(view);
  return <StatusText label={capitalized(state)} color={state === 'active' ? 'green' : 'gray'} />;
};
