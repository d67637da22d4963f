import type { Agent } from '../../../src/rehearse/agent.ts'
import { carefully } from '../../../src/rehearse/scripted/careful.ts'
import { answerOrReason } from '../../../src/rehearse/scripted/steps.ts'
import { withTools } from '../../../src/rehearse/scripted/tools.ts'

/** An agent that works like `careful`, but reads many more records. True answers may then mention these records. */
export const readsEverything: Agent = {
  name: 'reads-everything',
  isScripted: true,
  run: (input, signal) =>
    withTools(input, signal, async (tools) => {
      const { goal } = input
      if (goal === undefined) return ''
      await tools.call('getParty', {})
      await tools.call('getPartyLimits', {})
      await tools.call('listWallets', {})
      const customers = await tools.call('listCustomers', {})
      for (const { id } of customers.kind === 'answered' ? customers.data : []) {
        await tools.call('listWallets', { customerPartyId: id })
      }
      await tools.call('listCustomerInvitations', {})
      await tools.call('listPayments', {})
      await tools.call('listApprovals', {})
      await tools.call('listAgentCards', {})
      await tools.call('listShops', {})
      const answer = await answerOrReason(() => carefully(tools, goal))
      await tools.call('listWallets', {})
      await tools.call('listCardTransactions', {})
      await tools.call('listApprovals', {})
      return answer
    }),
}
