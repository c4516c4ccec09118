import{modules as o}from"./29333.shared.js";import{modules as s}from"./11035.shared.js";const t=2343,d=[2343,1035,3416,2625,5006],m={...o,...s};export{t as id,d as ids,m as modules};
