const u=4071,m=[4071],D={14071:((j,_,a)=>{a.d(_,{N:()=>c});var e=a(51455),i=a(76760),l=a(94686),n=a(83702);async function c({workFolder:r,borrow:o=null,keepObjectsIn:f,...E},d){await(0,e.mkdir)(r,{recursive:!0});const t=await(0,e.mkdtemp)((0,i.join)(r,"bare-")),s=f??(0,i.join)(t,"objects");try{return await Promise.all([(0,e.mkdir)((0,i.join)(s,"info"),{recursive:!0}),(0,e.mkdir)((0,i.join)(t,"refs"))]),await Promise.all([(0,n.KA)((0,i.join)(t,"HEAD"),`ref: refs/heads/none
`),(0,n.KA)((0,i.join)(t,"config"),`[core]
	repositoryformatversion = 0
	bare = true
`)]),o!==null&&(await(0,n.KA)((0,i.join)(s,"info","alternates"),`${o.objects}
`),o.shallow!==""&&await(0,n.KA)((0,i.join)(t,"shallow"),o.shallow)),await d((0,l.createGit)({...E,folder:t,variables:{GIT_DIR:t,GIT_OBJECT_DIRECTORY:s}}),t)}finally{await(0,e.rm)(t,{recursive:!0,force:!0})}}})};export{u as id,m as ids,D as modules};
