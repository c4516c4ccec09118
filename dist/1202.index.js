import{modules as o}from"./52543.shared.js";import{modules as s}from"./76351.shared.js";const t=1202,d=[1202],m={...o,...s};export{t as id,d as ids,m as modules};
